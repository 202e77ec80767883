import { type Client, RetryAtError, TerminalError, task } from "@mainspring/sdk";

/** A mail, with the id of its subject: an order or an invoice. */
export interface Mail {
  id: string;
  to: string;
  text: string;
}

/** Sends a mail and returns the answer of the mail server. Your application has its own way. */
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
      // The mail server knows best when it will accept the mail.
      if (retryAt !== undefined) throw new RetryAtError(retryAt, problem);
      // The address does not exist, so a retry would not help.
      if (status >= 400 && status < 500) throw new TerminalError(problem);
      throw new Error(problem);
    },
  });
}

/**
 * Puts mails into the outbox. A program that crashed or lost its connection can repeat the call within 7 days. Because of
 * the idempotency key each mail is sent once, even if it was sent before the repeat. (A unique key would hold only until
 * the mail is sent.) The receivers' mail servers accept few connections at once, so at most two mails of each domain are
 * under way.
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
