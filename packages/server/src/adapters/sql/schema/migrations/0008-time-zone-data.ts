/**
 * Tables of the time zone data by which plans are computed. The store keeps the data, so that every node plans by the
 * same version, whichever version it ships with, and so that past instants can be judged by the rules of their time.
 * Nodes of the previous release can run beside these tables: they do not read them. `since` is in ms since 1970.
 */
export const timeZoneData = `
CREATE TABLE tzdata_versions (
  version text COLLATE "C" NOT NULL PRIMARY KEY,
  released_on text,
  -- A JSON text: compiled zones in base64, by name.
  zones text NOT NULL
);
CREATE TABLE tzdata_changeovers (
  number integer NOT NULL PRIMARY KEY,
  version text COLLATE "C" NOT NULL,
  since bigint NOT NULL
);
`;
