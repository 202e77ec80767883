/** Events of steps: names of the ones that an earlier commit had recorded, so that the events of a repeat do not count. */
export const stepEvents = `
-- Steps whose earlier value counts, as <execution>/<name>; NULL: none.
ALTER TABLE outbox ADD COLUMN unrecorded text[];
`;
