"""Operations, written once for the SQL engines: duties, what people do, what is looked at."""
