import { isConflict } from "./errors.ts";

const TRIES = 5;

/** Runs `run` again after a conflict with another transaction, or if `mayPass` says that a retry is right. */
export async function persistently<T>(
  run: () => Promise<T>,
  mayPass: (error: unknown) => boolean = () => false,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt >= TRIES || !(isConflict(error) || mayPass(error))) throw error;
    }
  }
}
