import { type Client, type Priority, task } from "@mainspring/sdk";

/** Processes a picture, and returns the name of the new file. Your application has its own functions. */
export interface Studio {
  shrink(picture: string, width: number): Promise<string>;
  upscale(picture: string): Promise<string>;
}

/** Any worker can shrink a picture. To enlarge a picture, a worker needs a graphics card, which few workers have. */
export function pictureTasks(studio: Studio) {
  const shrink = task({
    name: "shrink",
    run: ({ picture, width }: { picture: string; width: number }) => studio.shrink(picture, width),
  });
  const upscale = task({
    name: "upscale",
    retry: { maxAttempts: 2, backoff: "FIXED", initialDelayMs: 5_000 },
    run: ({ picture }: { picture: string }) => studio.upscale(picture),
  });
  return { shrink, upscale };
}

export const POOL = "pictures";
const WIDTHS = [160, 640, 1280];

/**
 * Submits the jobs for one picture. A user who has just uploaded a picture waits for it, so give those jobs a high
 * priority. Jobs of the nightly renewal go last, and still run: a level of priority is a head start in time, so no job
 * waits for ever.
 * @returns the jobs in the order of their results: the sizes, then the enlarged picture
 */
export async function process(
  client: Client,
  { shrink, upscale }: ReturnType<typeof pictureTasks>,
  picture: string,
  priority: Priority,
) {
  const small = WIDTHS.map((width) => shrink.submit(client, { picture, width }, { pool: POOL, priority }));
  const large = upscale.submit(client, { picture }, { pool: POOL, priority, requires: ["gpu"] });
  return Promise.all([...small, large]);
}
