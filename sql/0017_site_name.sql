-- What people call the site; empty is the name of the controller.
ALTER TABLE controller_settings ADD COLUMN site_name TEXT NOT NULL DEFAULT '';
