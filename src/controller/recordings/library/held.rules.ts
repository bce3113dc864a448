// Where the files of a take are, as pieces of SQL over `recordings r` (docs/contract/recordings.md: Beyond the disk).

/** Whether destination `d` can be read from. */
export const KEEPS_LIBRARY = `d.keeps_library = 1 AND d.enabled = 1`

/** Whether copy `c` is known to be at destination `d`: what was seen at a former place of it is not (sql/0032_moved_libraries.sql). */
export const COUNTS = `c.damaged_at IS NULL AND c.place = d.place`

/** Whether a destination that keeps the library holds file `f`, as it was verified. */
export const FILE_HELD = `EXISTS (SELECT 1 FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id
  WHERE c.recording_id = f.recording_id AND c.checksum = f.checksum AND ${COUNTS} AND ${KEEPS_LIBRARY})`

const COPY_OF_F = `SELECT 1 FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id
  WHERE c.recording_id = f.recording_id AND c.checksum = f.checksum AND d.keeps_library = 1`

/**
 * Whether nobody can say now if a destination holds file `f`: it is switched off, or has become another place, where the file
 * was not looked for yet. What would forget the file waits until that is known.
 */
export const FILE_DOUBTED = `(NOT ${FILE_HELD}
  AND EXISTS (${COPY_OF_F} AND c.damaged_at IS NULL AND (d.enabled = 0 OR c.place <> d.place)))`

/** Whether file `f` was at a destination that keeps the library, and is not known to be at any now. */
export const FILE_MISSED = `(NOT ${FILE_HELD} AND EXISTS (${COPY_OF_F}))`

const ALL_AT_D = `${KEEPS_LIBRARY} AND NOT EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id
  AND NOT EXISTS (SELECT 1 FROM remote_copies c WHERE c.recording_id = f.recording_id AND c.checksum = f.checksum
    AND c.destination_id = d.id AND ${COUNTS}))`

/** Whether one of them holds all files of a take that has any. */
export const HELD = `r.cached = 1 AND EXISTS (SELECT 1 FROM upload_destinations d WHERE ${ALL_AT_D})`

/** The wire's `held`, as JSON. */
export const PLACES = `(SELECT json_group_array(place) FROM (
  SELECT 'local' AS place WHERE r.local = 1
    AND NOT EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND f.local = 0)
  UNION ALL SELECT id FROM (SELECT d.id FROM upload_destinations d WHERE r.cached = 1 AND ${ALL_AT_D} ORDER BY d.id)))`
