/**
 * Settings of the embedded PostgreSQL, for a small service on a machine that it shares with its server. They are passed
 * on the command line and not in a file, so that an old data folder gets the settings of the Mainspring that runs it.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: "50",
  shared_buffers: "128MB",
  // An acknowledged job survives a power cut.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  max_wal_size: "1GB",
  // WAL files are kept and reused, because a burst must not wait for new ones.
  min_wal_size: "256MB",
  // The tables of executions in flight turn over completely within seconds.
  autovacuum_naptime: "10s",
  // All statements are short, so compiling or parallelising them costs more than it saves.
  jit: "off",
  max_parallel_workers_per_gather: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  logging_collector: "off",
  log_destination: "stderr",
  log_checkpoints: "off",
  // Checkpoints under load are frequent on purpose.
  checkpoint_warning: "0",
  log_line_prefix: "%m [%p] ",
  // Only PostgreSQL's own messages. Errors of statements go to the client, and their text may be private.
  log_min_messages: "log",
  log_min_error_statement: "panic",
};

/** Arguments for `postgres`; `more` takes precedence over the settings above. */
export function serverArguments(pgdata: string, port: number, more: Readonly<Record<string, string>>): string[] {
  const settings = Object.entries({ ...SETTINGS, ...more }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return ["-D", pgdata, "-p", String(port), ...settings];
}
