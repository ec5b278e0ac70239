UPDATE penstock_gate SET made = made + :more WHERE gate = :gate
