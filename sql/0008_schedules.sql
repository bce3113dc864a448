CREATE TABLE schedule_upload_policies (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  policy_id   TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE RESTRICT,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_upload_policies_policy ON schedule_upload_policies (policy_id);

-- Who a schedule is for: they see and operate its room, and the switchers follow them.
CREATE TABLE schedule_users (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_users_user ON schedule_users (user_id);

CREATE TABLE schedule_groups (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  group_id    TEXT NOT NULL REFERENCES access_groups (id) ON DELETE CASCADE,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_groups_group ON schedule_groups (group_id);

-- What became of each occurrence. The key is the promise: one run per schedule and scheduled start (ADR-0022).
CREATE TABLE schedule_runs (
  schedule_id   TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  occurrence_at TEXT NOT NULL,                -- scheduled start, UTC
  outcome       TEXT NOT NULL CHECK (outcome IN ('started', 'skipped', 'missed')),
  recording_id  TEXT REFERENCES recordings (id) ON DELETE SET NULL,
  ends_at       TEXT,                         -- end of the slot; open-ended takes have none
  created_at    TEXT NOT NULL,
  PRIMARY KEY (schedule_id, occurrence_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_runs_recording ON schedule_runs (recording_id);
CREATE INDEX schedule_runs_ends ON schedule_runs (ends_at) WHERE outcome = 'started';
