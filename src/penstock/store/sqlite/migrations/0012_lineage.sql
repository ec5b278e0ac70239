-- oldest: 9
-- Every lane has a stamp that no other lane ever had. Lanes are only added, so whoever has cached them knows by the
-- number and the stamp of the last one whether all of them are still those of this store: a transaction that was
-- undone, or a backup that was restored, may have taken them back, and their numbers may be others' by now.
ALTER TABLE penstock_lane ADD COLUMN stamp INTEGER;
UPDATE penstock_lane SET stamp = random();
-- For lanes that programs add which know only older versions.
CREATE TRIGGER penstock_lane_stamp AFTER INSERT ON penstock_lane WHEN new.stamp IS NULL BEGIN
    UPDATE penstock_lane SET stamp = random() WHERE lane = new.lane;
END;
-- From here on another number with every pause and resume, not the next: so it stands for what is paused, also after
-- a backup was restored. Half of what there is, so that older programs can still add one.
UPDATE penstock_order_number SET number = random() / 2;
