import { isConflict } from "./errors.ts";

const TRIES = 5;

/** Runs it again where it stood in the way of somebody else, or where `mayPass` says that trying again is right. */
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
