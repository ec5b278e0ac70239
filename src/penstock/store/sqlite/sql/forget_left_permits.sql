-- Starts under the number of a new gate: of one that was deleted by hand, whose number was given again.
DELETE FROM penstock_permit
WHERE gate IN (
    SELECT gate.gate FROM json_each(:names) AS given
    CROSS JOIN penstock_gate AS gate ON gate.name = given.value AND gate.made = 0
)
