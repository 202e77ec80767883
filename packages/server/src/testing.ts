/** The door for the repository's own tools and tests that need a part of the server rather than a whole one. */
export { type EmbeddedPostgres, startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
export { systemRuntime } from "./adapters/system/system-runtime.ts";
