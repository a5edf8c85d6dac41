import type { LiveApplicationPhase, LiveRun } from "../../core/model/live-run.js";

/** A run as the page's script reads it. */
export function liveRunBody({ run, command, began, applications, ended }: LiveRun, withMessages: boolean) {
  return { run, command, began, ended, applications: applications.map((one) => applicationBody(one, withMessages)) };
}

function applicationBody({ application, phase }: LiveApplicationPhase, withMessages: boolean) {
  switch (phase.kind) {
    case "waiting":
      return { application, state: "waiting" };
    case "running": {
      const { done, total, message } = phase;
      return { application, state: "running", done, total, message: withMessages ? message : "" };
    }
    case "ended":
      return { application, state: phase.outcome };
  }
}
