-- Where the output of a command lies in its terminal's recording, in bytes.

ALTER TABLE commands ADD COLUMN output_from INTEGER;
ALTER TABLE commands ADD COLUMN output_to INTEGER;
