/**
 * How the embedded PostgreSQL is set: a small service on a machine that it shares with its server. Given on the command
 * line and not in a file, so that an old data folder gets the settings of the Mainspring that runs it.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: "50",
  shared_buffers: "128MB",
  // An acknowledged job survives a power cut.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  max_wal_size: "1GB",
  // Kept for reuse rather than made anew: a burst must not wait for fresh files.
  min_wal_size: "256MB",
  // The tables of what is in flight turn over completely within seconds.
  autovacuum_naptime: "10s",
  // Short statements only: compiling them, or handing them to helpers, costs more than it saves.
  jit: "off",
  max_parallel_workers_per_gather: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  logging_collector: "off",
  log_destination: "stderr",
  log_checkpoints: "off",
  // Checkpoints under load are that frequent by intention.
  checkpoint_warning: "0",
  log_line_prefix: "%m [%p] ",
  // PostgreSQL's own messages only. Errors of statements go to the client, and their text may be private.
  log_min_messages: "log",
  log_min_error_statement: "panic",
};

/** The arguments for `postgres`: `more` wins over the settings above. */
export function serverArguments(pgdata: string, port: number, more: Readonly<Record<string, string>>): string[] {
  const settings = Object.entries({ ...SETTINGS, ...more }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return ["-D", pgdata, "-p", String(port), ...settings];
}
