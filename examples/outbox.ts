import { type Client, RetryAtError, TerminalError, task } from "@mainspring/sdk";

/** A mail, with the id of what it is about: an order, an invoice. */
export interface Mail {
  id: string;
  to: string;
  text: string;
}

/** Answer of a mail server. An application has its own way to ask it. */
export type Deliver = (mail: Mail) => Promise<{ status: number; retryAt?: Date }>;

const SECOND_MS = 1_000;

export function mailTask(deliver: Deliver) {
  return task({
    name: "mail",
    retry: { maxAttempts: 8, backoff: "EXPONENTIAL", initialDelayMs: 10 * SECOND_MS, jitter: false },
    run: async (mail: Mail) => {
      const { status, retryAt } = await deliver(mail);
      if (status < 300) return;
      const problem = `the mail server answered ${status}`;
      // It knows better than any backoff when it will take the mail.
      if (retryAt !== undefined) throw new RetryAtError(retryAt, problem);
      // There is no such address, and there will not be one in a minute.
      if (status >= 400 && status < 500) throw new TerminalError(problem);
      throw new Error(problem);
    },
  });
}

/**
 * Puts mails into the outbox. A program that is not sure whether it did so, because it crashed or lost its connection,
 * repeats all of it within 7 days: by the idempotency key each mail is sent once, also where it has been sent already.
 * (A unique key would hold only until the mail is sent.) The receivers' mail servers take few connections at once: of
 * each domain at most two mails are under way.
 */
export function post(client: Client, mailing: ReturnType<typeof mailTask>, mails: readonly Mail[]) {
  const submits = mails.map((mail) => {
    const domain = mail.to.slice(mail.to.indexOf("@") + 1);
    const options = { idempotencyKey: `mail:${mail.id}`, concurrencyKey: `mail:${domain}`, concurrencyLimit: 2 };
    return mailing.submit(client, mail, options);
  });
  // Submits that arrive together share a commit in the server.
  return Promise.all(submits);
}
