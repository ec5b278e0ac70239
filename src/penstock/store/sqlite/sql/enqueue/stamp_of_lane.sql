SELECT stamp FROM penstock_lane WHERE lane = :lane
