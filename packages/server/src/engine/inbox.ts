import type { Input } from "./inputs.ts";
import type { Step } from "./state.ts";

/** Events that submits and changes of jobs have left for the owner of their shard. */

/** Has the batch take events out of the inbox. The store moves their content itself. */
export function takeInbox({ state, batch }: Step, { rows }: Extract<Input, { kind: "INBOX" }>): void {
  if (!state.events) return;
  for (const { id, shard } of rows) {
    if (!state.epochs.has(shard) || state.inbox.has(id)) continue;
    const draft = batch.shard(shard);
    draft.inbox ??= [];
    draft.inbox.push(id);
    state.inbox.set(id, batch.number);
  }
}

/** Forgets what the batches up to this one have taken. A read that still shows it makes a later batch move nothing. */
export function inboxTaken({ inbox }: Step["state"], committed: number): void {
  for (const [id, batch] of inbox) {
    if (batch > committed) return;
    inbox.delete(id);
  }
}
