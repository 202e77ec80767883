/**
 * API keys, as their SHA-256.
 *
 * A node that does not know the tables would let everybody with the key of the settings, or everybody on loopback, do
 * everything, so the first key raises `needs_level` (commit/raised-levels.ts).
 */
export const apiKeys = `
CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  -- NULL: a key of operators.
  tenant text,
  kind text NOT NULL,
  scopes text[] NOT NULL,
  pools text[] NOT NULL,
  name text NOT NULL,
  hint text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  replaces uuid,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  -- Version of all keys at the last change of this one.
  version bigint NOT NULL
);
CREATE INDEX api_keys_changed ON api_keys (version);

-- Each change of a key raises the version in its transaction. 0: there has never been a key.
CREATE TABLE api_keys_version (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version bigint NOT NULL);
INSERT INTO api_keys_version (version) VALUES (0);
`;
