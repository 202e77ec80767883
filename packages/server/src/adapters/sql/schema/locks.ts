const SCHEMA = "current_setting('search_path')";

/**
 * SQL for the key of an advisory lock. PostgreSQL has one space of keys for a whole database, and each store in it
 * needs its own locks. A store in `public` uses the bare numbers, as programs do that do not know the setting of a
 * schema.
 * @param number SQL for the number of the lock
 */
export function lockKey(number: number | string): string {
  return `CASE ${SCHEMA} WHEN 'public' THEN ${number}::int8 ELSE hashtextextended(${SCHEMA}, ${number}::int8) END`;
}
