/** Settings of a Redis that can be the store. */
export const DURABLE = [
  ...["--appendonly", "yes", "--appendfsync", "always"],
  ...["--maxmemory", "512mb", "--maxmemory-policy", "noeviction"],
] as const;
