import { task } from "@mainspring/sdk";

/** Functions of the application for an account. Yours has its own. */
export interface Accounts {
  /** Creates an account that cannot do anything yet. A repeat with the same key returns the same id. */
  create(email: string, key: string): Promise<string>;
  /** Opens or closes an account; a repeat changes nothing. */
  set(account: string, state: "open" | "closed"): Promise<void>;
  mail(to: string, text: string, key: string): Promise<void>;
}

/** Data of the signals `approved` and `rejected`, which the page of the operators sends. */
export interface Decision {
  by: string;
}

/**
 * Signs a user up. An operator approves or rejects the account within a week, and three days after the approval a mail
 * asks how it goes. One handler says all that from the start to the end. It holds no slot while it waits, and deploys,
 * restarts and lost workers in that time change nothing.
 */
export function signUpTask(accounts: Accounts) {
  return task({
    name: "approved-sign-up",
    retry: { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: 60_000, jitter: false },
    run: async ({ email }: { email: string }, { step }) => {
      // Each name is a step: the next attempts get its value and do not do it again.
      const account = await step.run("create", () => accounts.create(email, step.key("create")));
      const mail = (name: string, text: string) => step.run(name, () => accounts.mail(email, text, step.key(name)));
      await mail("mail: received", "We look at your request.");

      const decision = await step.waitForSignal<Decision>(["approved", "rejected"], { timeoutMs: 7 * 86_400_000 });
      if (decision?.name !== "approved") {
        await step.run("close", () => accounts.set(account, "closed"));
        await mail("mail: rejected", "We cannot offer you an account.");
        return { account, outcome: decision === null ? "nobody decided" : `rejected by ${decision.data.by}` };
      }
      await step.run("open", () => accounts.set(account, "open"));
      await mail("mail: welcome", "Welcome!");
      await step.sleep("three days", { days: 3 });
      await mail("mail: how it goes", "How do you get on?");
      return { account, outcome: `approved by ${decision.data.by}` };
    },
  });
}
