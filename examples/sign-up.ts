import { type Client, task } from "@mainspring/sdk";

/** Sends a mail. An application has its own. */
export type Send = (to: string, text: string) => Promise<void>;

/** The tasks of an application, given what they need: in a test that is something else than in production. */
export function mailTasks(send: Send) {
  const welcome = task({
    name: "welcome",
    retry: { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: 60_000, jitter: false },
    run: ({ to }: { to: string }) => send(to, "Welcome!"),
  });
  const remind = task({
    name: "remind",
    run: ({ to }: { to: string }) => send(to, "We have not seen you for three days."),
  });
  return { welcome, remind };
}

const DAY_MS = 86_400_000;

/**
 * Work for a new user: a mail now, and another one in three days. A web server that was stopped half way, or a user who presses
 * the button twice, repeats it without harm: the idempotency keys let each mail be sent once.
 */
export async function signUp(client: Client, { welcome, remind }: ReturnType<typeof mailTasks>, to: string) {
  const job = await welcome.submit(client, { to }, { idempotencyKey: `welcome:${to}` });
  await remind.submit(client, { to }, { delayMs: 3 * DAY_MS, idempotencyKey: `remind:${to}` });
  return job;
}
