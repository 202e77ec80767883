import { TerminalError, task } from "@mainspring/sdk";

/** A scanned letter of a customer, for the calls of a service that charges for each of them. */
interface Letter {
  id: string;
  text: string;
}

/**
 * Calls the service. It takes an idempotency key: a second call with the same key is not charged, and gets the first
 * answer. Most services that cost money take such a key.
 */
async function call(url: string, body: unknown, key: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
    signal,
  });
  const problem = `${url} answered ${response.status}`;
  // The request itself is wrong, so another attempt would fail as well.
  if (response.status >= 400 && response.status < 500) throw new TerminalError(problem);
  if (!response.ok) throw new Error(problem);
  return ((await response.json()) as { answer: string }).answer;
}

/**
 * Answers a letter by a chain of calls that cost money: a translation, a summary of it, and an answer in each language. Each
 * call is paid once, however often the handler fails between the calls, or its worker is lost within one: a step that is
 * recorded is not called again, and a call whose answer was lost is repeated under the same key.
 */
export function answerTask(service: string) {
  return task({
    name: "answer-letter",
    retry: { maxAttempts: 10, backoff: "EXPONENTIAL", initialDelayMs: 10_000 },
    run: async ({ id, text }: Letter, { step, signal }) => {
      const paid = (name: string, path: string, body: unknown) =>
        step.run(name, () => call(`${service}/${path}`, body, step.key(name), signal), { retries: 2 });

      const translation = await paid("translate", "translate", { text });
      const summary = await paid("summarize", "summarize", { text: translation });
      const languages = ["de", "fr", "es"];
      const answers = await Promise.all(
        languages.map((language) => paid(`answer in ${language}`, "answer", { summary, language })),
      );
      return { id, summary, answers };
    },
  });
}
