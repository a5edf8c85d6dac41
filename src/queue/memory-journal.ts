import type { RunNotes } from "../core/model/run-notes.js";
import type { RunJournal } from "../core/ports/event-queue.js";

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
