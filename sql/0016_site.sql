-- The time zone of the site (IANA); NULL is the zone of the machine.
ALTER TABLE controller_settings ADD COLUMN timezone TEXT;
