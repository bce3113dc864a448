-- Whether a session is a token that programs send, or the cookie of the console. Those from before end within hours.
ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'bearer' CHECK (kind IN ('bearer', 'cookie'));
