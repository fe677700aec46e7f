-- steuer: number and sum by state, with the state's share of the revenue
SELECT land, COUNT(*) AS n, SUM(steuer) AS aufkommen, ROUND(100.0 * SUM(steuer) / SUM(SUM(steuer)) OVER (), 1) AS anteil
FROM steuer GROUP BY land ORDER BY aufkommen DESC;
-- steuer: effective rate by year
SELECT jahr, SUM(steuer) / SUM(einkommen) AS satz FROM steuer GROUP BY jahr ORDER BY jahr;
-- steuer: year on year change
WITH j AS (SELECT jahr, SUM(steuer) AS s FROM steuer GROUP BY jahr)
SELECT jahr, s, LAG(s) OVER (ORDER BY jahr) AS vorjahr, 100.0 * (s - LAG(s) OVER (ORDER BY jahr)) / LAG(s) OVER (ORDER BY jahr) AS veraenderung FROM j ORDER BY jahr;
-- steuer: pivot, states by assessment type
SELECT land, SUM(CASE WHEN veranlagung = 'einzel' THEN 1 ELSE 0 END) AS einzel, SUM(CASE WHEN veranlagung = 'zusammen' THEN 1 ELSE 0 END) AS zusammen, COUNT(*) AS gesamt FROM steuer GROUP BY land;
-- steuer: income classes
SELECT CASE WHEN einkommen < 10000 THEN '0-10' WHEN einkommen < 25000 THEN '10-25' WHEN einkommen < 50000 THEN '25-50' ELSE '50+' END AS klasse, COUNT(*) AS n, AVG(steuer) AS mittel FROM steuer GROUP BY klasse ORDER BY klasse;
-- steuer: table with totals
SELECT land, jahr, COUNT(*) AS n FROM steuer WHERE land IN ('Bayern', 'Berlin', 'Hessen') AND jahr >= 2022 GROUP BY ROLLUP (land, jahr) ORDER BY land NULLS LAST, jahr NULLS LAST;
-- steuer: median and quartiles by state
SELECT land, MEDIAN(einkommen) AS median, QUANTILE_CONT(einkommen, 0.25) AS q1, QUANTILE_CONT(einkommen, 0.75) AS q3 FROM steuer GROUP BY land;
-- steuer: percentile in standard spelling
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY einkommen) AS p90 FROM steuer WHERE jahr = 2024;
-- steuer: online share with FILTER
SELECT jahr, 100.0 * COUNT(*) FILTER (WHERE online) / COUNT(*) AS online_prozent FROM steuer GROUP BY jahr;
-- steuer: filings by month of 2024
SELECT date_trunc('month', eingang) AS monat, COUNT(*) AS n FROM steuer WHERE eingang BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' GROUP BY monat ORDER BY monat;
-- steuer: top 3 states by average refund
SELECT land, AVG(erstattung) AS e FROM steuer GROUP BY land ORDER BY e DESC LIMIT 3;
-- steuer: number of taxpayers, and of declarations each
SELECT COUNT(DISTINCT steuernr) AS personen, COUNT(*) AS erklaerungen, COUNT(*) * 1.0 / COUNT(DISTINCT steuernr) AS je_person FROM steuer;
-- steuer: people by state
SELECT land, COUNT(DISTINCT steuernr) AS personen FROM steuer GROUP BY land;
-- steuer: states with more than 8,000 declarations
SELECT land, COUNT(*) AS n FROM steuer GROUP BY land HAVING COUNT(*) > 8000 ORDER BY n DESC;
-- steuer: negative sum, refunds only
SELECT SUM(erstattung) AS gesamt, SUM(CASE WHEN erstattung < 0 THEN erstattung END) AS nachzahlung, SUM(erstattung) FILTER (WHERE erstattung > 0) AS auszahlung FROM steuer;
-- steuer: unknown state as a category
SELECT COALESCE(land, 'ohne Angabe') AS land, COUNT(*) AS n FROM steuer GROUP BY 1 ORDER BY 2 DESC;
-- steuer: dispersion
SELECT veranlagung, STDDEV(einkommen) AS sd, STDDEV(einkommen) / AVG(einkommen) AS vk FROM steuer GROUP BY veranlagung;
-- steuer: largest and smallest income
SELECT jahr, MIN(einkommen) AS kleinstes, MAX(einkommen) AS groesstes FROM steuer GROUP BY jahr;
-- steuer: first and last filing date
SELECT MIN(eingang) AS erste, MAX(eingang) AS letzte FROM steuer WHERE jahr = 2023;
-- steuer: year that is not there
SELECT COUNT(*) AS n, AVG(steuer) AS mittel FROM steuer WHERE jahr = 2030;
-- steuer: misspelt state
SELECT land, COUNT(*) AS n FROM steuer WHERE land IN ('Bayern', 'Hesen') GROUP BY land;
-- steuer: mean filing delay in days
SELECT jahr, AVG(date_diff('day', make_date(jahr + 1, 1, 1), eingang)) AS verzug FROM steuer GROUP BY jahr;
-- steuer: cumulated revenue over the years
SELECT jahr, SUM(SUM(steuer)) OVER (ORDER BY jahr) AS kumuliert FROM steuer GROUP BY jahr ORDER BY jahr;
-- steuer: rank of each state within its year
SELECT jahr, land, COUNT(*) AS n, RANK() OVER (PARTITION BY jahr ORDER BY COUNT(*) DESC) AS rang FROM steuer WHERE jahr IN (2023, 2024) GROUP BY jahr, land QUALIFY RANK() OVER (PARTITION BY jahr ORDER BY COUNT(*) DESC) <= 3;
-- steuer: two years side by side
SELECT a.land, a.n AS n2023, b.n AS n2024, b.n - a.n AS diff FROM (SELECT land, COUNT(*) AS n FROM steuer WHERE jahr = 2023 GROUP BY land) a JOIN (SELECT land, COUNT(*) AS n FROM steuer WHERE jahr = 2024 GROUP BY land) b ON a.land = b.land ORDER BY a.land;
-- stays: stays and deaths by diagnosis, case fatality
SELECT diagnosis, COUNT(*) AS stays, SUM(CASE WHEN died THEN 1 ELSE 0 END) AS deaths, ROUND(100.0 * SUM(CASE WHEN died THEN 1 ELSE 0 END) / COUNT(*), 2) AS fatality FROM stays WHERE diagnosis IS NOT NULL GROUP BY diagnosis ORDER BY fatality DESC;
-- stays: average length of stay
SELECT hospital, AVG(date_diff('day', admitted, discharged)) AS los FROM stays GROUP BY hospital;
-- stays: age pyramid in five-year bands
SELECT floor(age / 5) * 5 AS band, sex, COUNT(*) AS n FROM stays WHERE sex IN ('f', 'm') GROUP BY band, sex ORDER BY band, sex;
-- stays: bed days by month
SELECT EXTRACT(year FROM admitted) AS y, EXTRACT(month FROM admitted) AS m, SUM(date_diff('day', admitted, discharged)) AS bed_days FROM stays WHERE admitted >= '2024-01-01' AND admitted < '2025-01-01' GROUP BY y, m ORDER BY y, m;
-- stays: readmissions, stays per patient
SELECT AVG(n) AS stays_per_patient FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) t;
-- stays: patients with more than three stays
SELECT COUNT(*) FROM (SELECT patient FROM stays GROUP BY patient HAVING COUNT(*) > 3) t;
-- stays: chapter by public classification
SELECT i.chapter, COUNT(*) AS n, SUM(i.weight) AS case_mix, AVG(s.cost) AS cost FROM stays s JOIN icd i ON s.diagnosis = i.code GROUP BY i.chapter ORDER BY n DESC;
-- stays: chapter with unknown ones kept
SELECT COALESCE(i.chapter, 'unknown') AS chapter, COUNT(*) AS n FROM stays s LEFT JOIN icd i ON s.diagnosis = i.code GROUP BY 1;
-- stays: weekend admissions
SELECT CASE WHEN dayofweek(admitted) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS part, AVG(CASE WHEN died THEN 1.0 ELSE 0.0 END) AS mortality FROM stays GROUP BY part;
-- stays: missing costs
SELECT hospital, COUNT(*) AS n, COUNT(cost) AS with_cost, COUNT(*) - COUNT(cost) AS missing, 1 - COUNT(cost) * 1.0 / COUNT(*) AS missing_rate FROM stays GROUP BY hospital;
-- stays: cube
SELECT hospital, sex, COUNT(*) AS n, AVG(cost) AS cost FROM stays WHERE sex IN ('f', 'm') GROUP BY CUBE (hospital, sex);
-- stays: grouping sets
SELECT hospital, diagnosis, COUNT(*) AS n FROM stays WHERE diagnosis IN ('I21', 'J18') GROUP BY GROUPING SETS ((hospital), (diagnosis), ());
-- stays: small cells suppressed
SELECT hospital, diagnosis, CASE WHEN COUNT(*) >= 30 THEN COUNT(*) END AS n FROM stays WHERE died GROUP BY hospital, diagnosis;
-- stays: different diagnoses a hospital
SELECT hospital, COUNT(DISTINCT diagnosis) AS diagnoses, COUNT(DISTINCT patient) AS patients FROM stays GROUP BY hospital;
-- stays: union of a total and parts
SELECT 'all' AS who, COUNT(*) AS n, AVG(age) AS age FROM stays UNION ALL SELECT sex, COUNT(*), AVG(age) FROM stays WHERE sex IN ('f', 'm') GROUP BY sex;
-- labour: unemployment rate by county, sorted
SELECT county, 100.0 * AVG(CASE WHEN unemployed THEN 1 ELSE 0 END) AS rate FROM labour GROUP BY county ORDER BY rate DESC;
-- labour: rate per inhabitant from a public table
SELECT c.county, c.inhabitants, COUNT(*) AS n, 1000.0 * COUNT(*) / c.inhabitants AS per_thousand FROM labour l JOIN counties c ON l.county = c.county WHERE l.unemployed GROUP BY c.county, c.inhabitants;
-- labour: gender-like wage gap between contracts
SELECT 1 - AVG(wage) FILTER (WHERE contract = 'agency') / AVG(wage) FILTER (WHERE contract = 'open') AS gap FROM labour;
-- labour: hourly wage
SELECT sector, SUM(wage) / SUM(hours * 4.33) AS per_hour, AVG(wage / (hours * 4.33)) AS mean_per_hour FROM labour GROUP BY sector;
-- labour: moving average over quarters
SELECT q, n, AVG(n) OVER (ORDER BY q ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM (SELECT date_trunc('quarter', started) AS q, COUNT(*) AS n FROM labour WHERE started >= '2023-01-01' AND started < '2025-01-01' GROUP BY q) t ORDER BY q;
-- labour: still employed
SELECT contract, COUNT(*) AS n, COUNT(ended) AS ended_n, COUNT(*) FILTER (WHERE ended IS NULL) AS running FROM labour GROUP BY contract;
-- labour: location quotient
WITH cs AS (SELECT county, sector, COUNT(*) AS n FROM labour GROUP BY county, sector),
 c AS (SELECT county, SUM(n) AS n FROM cs GROUP BY county), s AS (SELECT sector, SUM(n) AS n FROM cs GROUP BY sector)
SELECT cs.county, cs.sector, (1.0 * cs.n / c.n) / (1.0 * s.n / SUM(cs.n) OVER ()) AS lq FROM cs JOIN c ON cs.county = c.county JOIN s ON cs.sector = s.sector ORDER BY 1, 2;
-- labour: records themselves
SELECT person, wage FROM labour ORDER BY wage DESC LIMIT 10;
-- labour: names like pattern, not null
SELECT COUNT(*) AS n, SUM(wage) AS total FROM labour WHERE sector LIKE 'ca%' AND contract IS NOT NULL AND NOT (age BETWEEN 15 AND 24);
-- labour: distinct counties and share below a threshold
SELECT sector, COUNT(DISTINCT county) AS counties, AVG((wage < 1800)::INTEGER) AS low_pay FROM labour GROUP BY sector ORDER BY low_pay DESC;
