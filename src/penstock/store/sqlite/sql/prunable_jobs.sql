SELECT json_group_array(seq)
FROM (SELECT seq FROM penstock_outcome WHERE state = :state AND finished_at < :before ORDER BY finished_at LIMIT :limit)
