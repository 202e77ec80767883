import { type Client, task } from "@mainspring/sdk";

/** Sends a mail. Your application has its own function. */
export type Send = (to: string, text: string) => Promise<void>;

/** The tasks of an application. They get their dependencies as parameters, which differ in tests and production. */
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
 * Submits the mails for a new user: one now, and another in three days. The web server may stop half way, or the user may
 * press the button twice. A repeat is safe: because of the idempotency keys each mail is sent once.
 */
export async function signUp(client: Client, { welcome, remind }: ReturnType<typeof mailTasks>, to: string) {
  const job = await welcome.submit(client, { to }, { idempotencyKey: `welcome:${to}` });
  await remind.submit(client, { to }, { delayMs: 3 * DAY_MS, idempotencyKey: `remind:${to}` });
  return job;
}
