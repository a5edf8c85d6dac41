import type { RunJournal } from "../core/event-queue.js";
import type { RunNotes } from "../core/run-notes.js";

/** A run's notes in this process's memory. */
export class MemoryJournal implements RunJournal {
  #notes: RunNotes = {};

  read(): Promise<RunNotes> {
    return Promise.resolve(this.#notes);
  }

  write(notes: RunNotes): Promise<void> {
    this.#notes = notes;
    return Promise.resolve();
  }
}
