/**
 * Which time zone data plans go by. The data is kept too, so that every node plans by the same version, whichever it brings itself, and so that
 * what has passed can be judged by the rules of its time. Nodes of the release before do not look at these tables.
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
