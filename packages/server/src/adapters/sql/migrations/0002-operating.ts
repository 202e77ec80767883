/** What a level of priority is worth is set pool by pool; it was an hour for all. */
export const operating = `
ALTER TABLE pools ADD COLUMN priority_step_ms bigint NOT NULL DEFAULT 3600000;
`;
