DELETE FROM penstock_figure WHERE span = :span AND at < :now - :age
