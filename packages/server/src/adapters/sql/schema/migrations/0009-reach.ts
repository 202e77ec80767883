/**
 * The nodes to which a node has a link, by its own word, as a JSON text; NULL: it does not say. Nodes of the release before name the
 * columns that they write, and go on beside this.
 */
export const reach = `
ALTER TABLE nodes ADD COLUMN reaches text;
`;
