/** What is said where a call can neither be done nor let pass: nothing was written. */

export type Code =
  | "phase-unknown"
  | "not-expressible"
  | "wrong-form"
  | "key-unknown"
  | "key-collision"
  | "page-moved"
  | "answer-lost"
  | "conflict";

export class RewriteError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = "RewriteError";
  }
}

/** The lease of what a call knows of the phase ran out: it may not send any more under it. */
export class StanceExpired extends Error {}
