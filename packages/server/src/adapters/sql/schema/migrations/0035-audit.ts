/**
 * The audit log: records of changes by principals, chained by node life, and anchors that seal the chains. A node that does not know the
 * tables writes no records, and harms none.
 */
export const audit = `
CREATE TABLE audit (
  -- One chain for each node life, and in it a number from 1 on without gaps.
  chain uuid NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  tenant text NOT NULL,
  actor_kind text NOT NULL,
  actor_key text,
  actor_for text,
  action text NOT NULL,
  target text,
  outcome text NOT NULL,
  request_id text,
  address text,
  detail jsonb NOT NULL,
  prev bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (at, chain, seq)
) PARTITION BY RANGE (at);
CREATE INDEX audit_chain ON audit (chain, seq);
CREATE INDEX audit_of_tenant ON audit (tenant, at, chain, seq) WHERE tenant <> 'default';

CREATE TABLE audit_anchors (
  number bigint PRIMARY KEY,
  at bigint NOT NULL,
  -- Last records of chains, as [{"chain": …, "seq": …, "hash": …}, …].
  heads jsonb NOT NULL,
  floors jsonb NOT NULL,
  prev bytea NOT NULL,
  hash bytea NOT NULL,
  signature text
);

-- Last sealed record of each chain. Only the writer of anchors uses it: an anchor says for itself what it seals.
CREATE TABLE audit_sealed (chain uuid PRIMARY KEY, seq bigint NOT NULL);
`;
