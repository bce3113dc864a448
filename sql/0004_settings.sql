CREATE TABLE recording_profiles (
  id                TEXT PRIMARY KEY NOT NULL,
  name              TEXT NOT NULL,
  codec             TEXT NOT NULL CHECK (codec IN ('mp3', 'flac', 'wav')),
  bitrate_kbps      INTEGER NOT NULL CHECK (bitrate_kbps BETWEEN 1 AND 512),
  vbr               INTEGER NOT NULL CHECK (vbr IN (0, 1)),
  channel_mode      TEXT NOT NULL CHECK (channel_mode IN ('mono', 'stereo', 'mono_to_stereo_mix', 'multichannel')),
  silence_detection INTEGER NOT NULL CHECK (silence_detection IN (0, 1)),
  silence_skip      INTEGER NOT NULL CHECK (silence_skip IN (0, 1)),
  chunk_seconds     INTEGER,
  max_track_seconds INTEGER,
  enhancement       TEXT CHECK (enhancement IS NULL OR json_valid(enhancement)),
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL
) STRICT;

CREATE TABLE retention_policies (
  id                         TEXT PRIMARY KEY NOT NULL,
  name                       TEXT NOT NULL,
  scope                      TEXT NOT NULL CHECK (scope IN ('controller_cache', 'recorder_cache')),
  action                     TEXT NOT NULL CHECK (action IN ('keep', 'delete_cache')),
  enabled                    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  max_age_days               INTEGER,
  max_bytes                  INTEGER,
  min_free_disk_percent      INTEGER,
  delete_only_after_uploaded INTEGER NOT NULL CHECK (delete_only_after_uploaded IN (0, 1)),
  preserve_tagged            INTEGER NOT NULL CHECK (preserve_tagged IN (0, 1)),
  updated_at                 TEXT NOT NULL
) STRICT;

CREATE TABLE watchdog_policies (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL,
  rules      TEXT NOT NULL CHECK (json_valid(rules)), -- thresholds and modes: stored and returned whole
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE upload_policies (
  id                        TEXT PRIMARY KEY NOT NULL,
  name                      TEXT NOT NULL,
  destination_id            TEXT REFERENCES upload_destinations (id) ON DELETE RESTRICT, -- made in 0009
  enabled                   INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  trigger_kind              TEXT NOT NULL CHECK (trigger_kind IN ('manual', 'on_recording_cached')),
  max_attempts              INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  path_override             TEXT,
  delete_cache_after_upload INTEGER NOT NULL CHECK (delete_cache_after_upload IN (0, 1)),
  updated_at                TEXT NOT NULL
) STRICT;
CREATE INDEX upload_policies_destination ON upload_policies (destination_id);

-- The built-ins every new controller starts with.
INSERT INTO recording_profiles VALUES ('voice-mp3-vbr', 'Voice MP3 VBR', 'mp3', 128, 1, 'mono_to_stereo_mix', 0, 0, NULL, NULL,
  '{"keepRaw":true,"denoise":{"enabled":true,"engine":"deepfilternet3"},"highpass":{"enabled":true,"hz":80},"lowpass":{"enabled":false,"hz":12000},"deesser":{"enabled":false,"intensity":0.1},"compressor":{"enabled":false},"loudnorm":{"enabled":true,"targetI":-16,"truePeak":-1.5,"lra":11},"gate":{"enabled":false,"thresholdDb":-40}}',
  '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z');
INSERT INTO retention_policies VALUES ('retention-keep-controller-cache', 'Keep controller cache', 'controller_cache', 'keep', 1, NULL, NULL, NULL, 1, 1, '1970-01-01T00:00:00.000Z');
INSERT INTO watchdog_policies VALUES ('scheduled-voice-watchdog', 'Scheduled Voice Watchdog',
  '{"activeDuring":"scheduled_recording","metric":"rms","thresholdDbfs":-45,"windowSeconds":900,"graceSeconds":300,"repeatEverySeconds":900,"minCumulativeSecondsAboveThreshold":10,"severity":"critical","channelCorrelationMode":"alert_on_high","channelCorrelationThreshold":0.98,"minCumulativeChannelCorrelationSeconds":10,"clippingMode":"alert_on_clipping","minCumulativeClippingSeconds":1,"flatlineMode":"alert_on_flatline","flatlineThresholdDbfs":-100,"minCumulativeFlatlineSeconds":10,"qualityAlertMode":"alert_on_noise_hum_static","noiseScoreThreshold":0.9,"broadbandNoiseScoreThreshold":0.85,"humScoreThreshold":0.8,"staticScoreThreshold":0.8,"minCumulativeQualitySeconds":10}',
  '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z');
