DELETE FROM penstock_silence WHERE until < :now - :age
