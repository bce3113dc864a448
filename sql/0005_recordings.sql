CREATE TABLE schedules (
  id                   TEXT PRIMARY KEY NOT NULL,
  name                 TEXT NOT NULL,
  enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  node_id              TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room                 TEXT NOT NULL DEFAULT '',                       -- as people call it: shown, and in templates
  room_id              TEXT REFERENCES rooms (id) ON DELETE RESTRICT,  -- the room of its channels, derived at each change
  capture_interface_id TEXT REFERENCES interfaces (id) ON DELETE SET NULL,
  capture_backend      TEXT CHECK (capture_backend IN ('alsa', 'jack', 'pipewire')),
  capture_channels     TEXT CHECK (capture_channels IS NULL OR json_valid(capture_channels)),
  channel_mode         TEXT CHECK (channel_mode IN ('mono', 'stereo', 'mono_to_stereo_mix', 'multichannel')),
  recording_profile_id TEXT NOT NULL DEFAULT 'voice-mp3-vbr' REFERENCES recording_profiles (id) ON DELETE RESTRICT,
  watchdog_policy_id   TEXT NOT NULL DEFAULT 'scheduled-voice-watchdog' REFERENCES watchdog_policies (id) ON DELETE RESTRICT,
  retention_policy_id  TEXT NOT NULL DEFAULT 'retention-keep-controller-cache' REFERENCES retention_policies (id) ON DELETE RESTRICT,
  tags                 TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  timezone             TEXT NOT NULL DEFAULT 'UTC',
  title_template       TEXT NOT NULL DEFAULT '{{schedule.name}}',
  folder_template      TEXT NOT NULL DEFAULT 'Scheduled',
  recurrence           TEXT NOT NULL DEFAULT '{"mode":"manual"}' CHECK (json_valid(recurrence)),
  anchor_date          TEXT NOT NULL DEFAULT '1970-01-05',  -- local date from which "every n" is counted
  next_run_at          TEXT,                  -- when the runner starts the next occurrence, or tries it again
  slot_at              TEXT,                  -- scheduled start of that occurrence
  slot_date            TEXT,                  -- its local date
  search               TEXT NOT NULL DEFAULT '',  -- everything a search looks into, in lower case
  created_at           TEXT NOT NULL,
  updated_at           TEXT NOT NULL
) STRICT;
CREATE INDEX schedules_node ON schedules (node_id, created_at);
CREATE INDEX schedules_room ON schedules (room_id, next_run_at);
CREATE INDEX schedules_interface ON schedules (capture_interface_id, created_at);
CREATE INDEX schedules_backend ON schedules (capture_backend, created_at);
CREATE INDEX schedules_enabled ON schedules (enabled, created_at);
CREATE INDEX schedules_profile ON schedules (recording_profile_id);
CREATE INDEX schedules_watchdog ON schedules (watchdog_policy_id);
CREATE INDEX schedules_retention ON schedules (retention_policy_id);
CREATE INDEX schedules_due ON schedules (next_run_at) WHERE enabled = 1 AND next_run_at IS NOT NULL;
-- The order of the list, with the text of a search beside it: one walk answers both.
CREATE INDEX schedules_created ON schedules (created_at, id, search);

CREATE TABLE recordings (
  seq                  INTEGER PRIMARY KEY,   -- names the row to the search index; an implicit rowid would not survive a VACUUM
  id                   TEXT NOT NULL UNIQUE,
  name                 TEXT NOT NULL,
  folder               TEXT NOT NULL,
  notes                TEXT,
  transcript_snippets  TEXT CHECK (transcript_snippets IS NULL OR json_valid(transcript_snippets)),
  source               TEXT NOT NULL CHECK (source IN ('ad_hoc', 'schedule')),
  status               TEXT NOT NULL CHECK (status IN ('queued', 'recording', 'completed', 'failed', 'cached', 'uploaded', 'partial')),
  health_status        TEXT NOT NULL DEFAULT 'unknown' CHECK (health_status IN ('healthy', 'warning', 'critical', 'unknown')),
  recorded_at          TEXT NOT NULL,
  duration_seconds     INTEGER NOT NULL DEFAULT 0 CHECK (duration_seconds >= 0),
  node_id              TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room_id              TEXT REFERENCES rooms (id) ON DELETE SET NULL,  -- frozen at creation
  schedule_id          TEXT REFERENCES schedules (id) ON DELETE SET NULL,
  recording_profile_id TEXT REFERENCES recording_profiles (id) ON DELETE SET NULL,
  retention_policy_id  TEXT REFERENCES retention_policies (id) ON DELETE SET NULL,
  watchdog_policy_id   TEXT REFERENCES watchdog_policies (id) ON DELETE SET NULL,
  updated_at           TEXT NOT NULL,
  cached               INTEGER NOT NULL DEFAULT 0 CHECK (cached IN (0, 1)),  -- has a stored file; kept by triggers
  local                INTEGER NOT NULL DEFAULT 0 CHECK (local IN (0, 1)),   -- has one on this disk; kept by triggers
  cell                 INTEGER                -- where it counts (0011_search.sql); kept by triggers
) STRICT;
CREATE INDEX recordings_node ON recordings (node_id, recorded_at);
CREATE INDEX recordings_room ON recordings (room_id, recorded_at);
CREATE INDEX recordings_schedule ON recordings (schedule_id, recorded_at);
CREATE INDEX recordings_profile ON recordings (recording_profile_id, recorded_at);
CREATE INDEX recordings_retention ON recordings (retention_policy_id);
CREATE INDEX recordings_watchdog ON recordings (watchdog_policy_id);
-- Orders the library offers: a page is a walk, not a sort of everything. Ties go by id upwards in both directions, and
-- where many rows tie each direction has its own index. With the cell in it a filter is judged without the row.
CREATE INDEX recordings_recorded ON recordings (recorded_at, id, cell);
CREATE INDEX recordings_name ON recordings (name COLLATE NOCASE, id, cell);
CREATE INDEX recordings_folder ON recordings (folder COLLATE NOCASE, id, cell);
CREATE INDEX recordings_folder_down ON recordings (folder COLLATE NOCASE DESC, id, cell);
CREATE INDEX recordings_duration ON recordings (duration_seconds, id, cell);
CREATE INDEX recordings_duration_down ON recordings (duration_seconds DESC, id, cell);
CREATE INDEX recordings_status ON recordings (status, id, cell);
CREATE INDEX recordings_status_down ON recordings (status DESC, id, cell);
CREATE INDEX recordings_health ON recordings (health_status, id, cell);
CREATE INDEX recordings_health_down ON recordings (health_status DESC, id, cell);
CREATE INDEX recordings_source ON recordings (source, id, cell);
CREATE INDEX recordings_source_down ON recordings (source DESC, id, cell);
CREATE INDEX recordings_in_folder ON recordings (folder, recorded_at, id, cell);
-- The same within one cell: what few cells hold is merged from them, however rare it is among all.
CREATE INDEX recordings_cell_recorded ON recordings (cell, recorded_at, id) WHERE cell IS NOT NULL;
CREATE INDEX recordings_cell_name ON recordings (cell, name COLLATE NOCASE, id) WHERE cell IS NOT NULL;
CREATE INDEX recordings_cell_folder ON recordings (cell, folder COLLATE NOCASE, id) WHERE cell IS NOT NULL;

CREATE TABLE recording_tags (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  tag          TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_tags_tag ON recording_tags (tag, recording_id);

CREATE TABLE recording_upload_policies (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  policy_id    TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE CASCADE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_upload_policies_policy ON recording_upload_policies (policy_id, recording_id);

-- One stored file per rendition: `primary` is what was uploaded without a rendition (or ends a chunked take).
CREATE TABLE recording_files (
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  rendition        TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path             TEXT NOT NULL UNIQUE,      -- relative to the takes directory
  checksum         TEXT NOT NULL,             -- sha256:<hex>, computed here while receiving
  size_bytes       INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type        TEXT NOT NULL,
  duration_seconds INTEGER,
  job_id           TEXT,
  joined           INTEGER NOT NULL DEFAULT 0 CHECK (joined IN (0, 1)), -- made of the take's chunks; 0: it came as one file
  stored_at        TEXT NOT NULL,
  details          TEXT CHECK (details IS NULL OR json_valid(details)),  -- how it was made, as its recorder told
  local            INTEGER NOT NULL DEFAULT 1 CHECK (local IN (0, 1)), -- 0: its bytes are at destinations alone (0028)
  PRIMARY KEY (recording_id, rendition)
) STRICT, WITHOUT ROWID;
CREATE INDEX recording_files_stored ON recording_files (stored_at);

CREATE TABLE recording_jobs (
  seq               INTEGER PRIMARY KEY,      -- names the row to the search index
  id                TEXT NOT NULL UNIQUE,
  recording_id      TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  node_id           TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  status            TEXT NOT NULL CHECK (status IN ('queued', 'running', 'stop_requested', 'cancelled', 'completed', 'failed')),
  command           TEXT NOT NULL CHECK (json_valid(command)),
  capture_backend   TEXT GENERATED ALWAYS AS (coalesce(json_extract(command, '$.captureBackend'), 'alsa')) STORED,
  capture_interface TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureInterfaceId')) STORED,
  capture_group     TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureGroupId')) STORED,
  created_at        TEXT NOT NULL,
  claimed_by        TEXT,
  started_at        TEXT,
  confirmed_at      TEXT,                     -- first job heartbeat: the agent surely holds the claim
  last_heartbeat_at TEXT,
  progress          TEXT CHECK (progress IS NULL OR json_valid(progress)),  -- as told last; none once it has ended
  lease_expires_at  TEXT,
  stop_requested_at TEXT,
  completed_at      TEXT,
  failure_reason    TEXT,
  cell              INTEGER DEFAULT 0         -- where it counts (0012_chunks.sql); kept by triggers
) STRICT;
-- Newest first; with the cell in it a filter is judged without the row.
CREATE INDEX jobs_created ON recording_jobs (created_at, id, cell);
CREATE INDEX jobs_cell ON recording_jobs (cell, created_at, id);
CREATE INDEX jobs_recording ON recording_jobs (recording_id, created_at);
CREATE INDEX jobs_node ON recording_jobs (node_id, status, created_at);
CREATE INDEX jobs_status ON recording_jobs (status, created_at);
CREATE INDEX jobs_lease ON recording_jobs (lease_expires_at) WHERE status IN ('running', 'stop_requested');
-- Takes that their recorders may still bring: few, and asked for again and again.
CREATE INDEX jobs_cut_off ON recording_jobs (failure_reason, recording_id)
  WHERE failure_reason IN ('lease_expired', 'stop_request_lease_expired');
-- A recording is being made by one job at a time.
CREATE UNIQUE INDEX one_active_job ON recording_jobs (recording_id) WHERE status IN ('queued', 'running', 'stop_requested');
