import { type TaskContext, TerminalError, task } from "@mainspring/sdk";

/** Handler that runs until the test lets it go on, or its attempt is cancelled. */
export class Hold {
  readonly #began = new Map<string, () => void>();
  readonly #goOn = new Map<string, () => void>();

  /** Resolves when the handler with this name has begun. */
  begins(name: string): Promise<void> {
    return new Promise((resolve) => this.#began.set(name, resolve));
  }

  goOn(name: string): void {
    this.#goOn.get(name)?.();
  }

  run = (name: string, { signal }: TaskContext): Promise<string> =>
    new Promise((resolve, reject) => {
      this.#goOn.set(name, () => resolve(name));
      signal.addEventListener("abort", () => reject(new Error("stopped")));
      this.#began.get(name)?.();
    });
}

/** Tasks of a worker for the nodes of workflows. */
export function workflowTasks(holds: Hold) {
  /** Payloads with which the handler `flaky` has failed. */
  const flaky = new Set<string>();
  return [
    task({
      name: "step",
      run: async (payload: { branch?: string } | null, ctx) => ctx.branch(payload?.branch ?? "none"),
    }),
    task({ name: "hold", run: holds.run }),
    task({ name: "await", run: async (_: null, ctx) => (await ctx.step.waitForSignal("approved"))?.data ?? null }),
    task({
      name: "flaky",
      run: async (name: string): Promise<string> => {
        if (flaky.has(name)) return name;
        flaky.add(name);
        throw new TerminalError("the first attempt");
      },
    }),
    task({
      name: "fail",
      run: async (): Promise<null> => {
        throw new TerminalError("no disk");
      },
    }),
  ];
}
