/**
 * Whether a node can prove to other nodes that it has a secret of the cluster. Nodes of the previous release have none.
 */
export const nodeSecrets = `
ALTER TABLE nodes ADD COLUMN has_secret boolean NOT NULL DEFAULT false;
`;
