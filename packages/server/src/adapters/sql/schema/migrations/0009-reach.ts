/**
 * Nodes to which a node has a link, as that node reports, as a JSON text; NULL: the node does not report it. Nodes of
 * the previous release name the columns that they write, so they keep working with this schema.
 */
export const reach = `
ALTER TABLE nodes ADD COLUMN reaches text;
`;
