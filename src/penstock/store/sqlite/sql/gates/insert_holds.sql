-- :holds is [[gate, token], …].
INSERT INTO penstock_hold (gate, token, at) SELECT value ->> 0, value ->> 1, :now FROM json_each(:holds)
