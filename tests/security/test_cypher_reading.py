"""Only reading queries pass the filter, whatever they are dressed up as."""

import pytest

from viva.core.errors import SuiteError
from viva.expressions.cypher import check_reading, split_script

READS = [
    "MATCH (r:Reminder) RETURN count(r) AS count",
    "MATCH (r:Reminder {title: 'create; delete'}) RETURN r.title",
    "MATCH (a)-[:CREATE|SET]->(b:Delete) RETURN a.set, b.`call`",
    "OPTIONAL MATCH (n) WHERE n.name CONTAINS 'x' AND NOT (n)-[:KNOWS]->() RETURN n ORDER BY n.name SKIP 1 LIMIT 2",
    "UNWIND [1, 2] AS x WITH x WHERE x IN [1] RETURN x, size([1]), toUpper('a')",
    "MATCH (n) WHERE EXISTS { MATCH (n)-[:HAS]->(m) WHERE m.x > 1 } RETURN COUNT { (n)--() } AS c",
    "RETURN {set: 1, delete: 2} AS m // DROP everything",
    "MATCH (n) RETURN CASE WHEN n.x = 1 THEN 'one' ELSE 'other' END AS word, date().year",
    "MATCH (n {id: $id}) RETURN point.distance(n.a, n.b), duration.between(n.x, n.y)",
    "MATCH p = (a)-[*1..3]->(b) WHERE all(x IN nodes(p) WHERE x.ok) RETURN length(p)",
    "MATCH (n) RETURN n.name AS name UNION ALL MATCH (m) RETURN m.title AS name",
    "MATCH (`weird name`:`A Label`) RETURN `weird name`",
]

NOT_READS = [
    "CREATE (n)",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n) SET n.x = 1 RETURN n",
    "MATCH (n) REMOVE n.x",
    "MERGE (n:X)",
    "MATCH (n) MERGE (m:X) RETURN m",
    "CALL { CREATE (n) } RETURN 1",
    "MATCH (n) CALL { WITH n CREATE (m) } RETURN n",
    "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
    "MATCH (n) FOREACH (x IN [1] | CREATE (:Y))",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "MATCH (n) LOAD CSV FROM 'http://x/' AS l RETURN l",
    "CALL apoc.load.json('http://169.254.169.254') YIELD value RETURN value",
    "CALL/**/apoc.load.json('x')",
    "RETURN 1 AS x CALL/* hidden */ db.labels() YIELD label RETURN label",
    "MATCH (n) RETURN apoc.load.json('x')",
    "MATCH (n) RETURN apoc.cypher.runFirstColumn('CREATE (x)', {})",
    "MATCH (n) RETURN `apoc`.`load`.`json`('x')",
    "MATCH (n) RETURN apoc . load . json ('x')",
    "MATCH (n) RETURN apoc/**/.load.json('x')",
    "MATCH (n) RETURN custom(n)",
    "RETURN {x: custom(1)}",
    "RETURN {x: apoc.load.json('u')}",
    "PROFILE MATCH (n) RETURN n",
    "EXPLAIN MATCH (n) RETURN n",
    "MATCH (n) RETURN n; MATCH (m) DELETE m",
    "MATCH (n) RETURN n;",
    "USE system MATCH (n) RETURN n",
    "SHOW DATABASES",
    "MATCH (n) RETURN n UNION CALL db.labels() YIELD label RETURN label",
    "\\u0043REATE (n)",
    "RETURN 1 \\u0043ALL dbms.procedures()",
    "MATCH (n {x: '\\u0027}) DELETE n //'}) RETURN n",
    "MATCH (n) rEtUrN n DeTaCh dElEtE n",
    "MATCH (n)\nDELETE\nn",
    "MATCH (n) WITH n DELETE n",
    "MATCH (n) WITH n SET n:Admin",
    "MATCH (n) WITH n SET n += {admin: true} RETURN n",
    "CREATE INDEX FOR (n:X) ON (n.y)",
    "DROP CONSTRAINT c",
    "START n=node(*) RETURN n",
    "CYPHER runtime=slotted MATCH (n) RETURN n",
    "CYPHER 5 CREATE (n)",
    "INSERT (n:X)",
    "TERMINATE TRANSACTIONS 'x'",
    "GRANT ROLE admin TO x",
    "MATCH (n) RETURN 'unterminated",
    "MATCH (n) RETURN `unterminated",
    "MATCH (n) RETURN n /* unterminated DELETE n",
    "MATCH (n) WHERE n.x = '\\' DELETE n //' RETURN n SET n.y = 1",
    "// only a comment",
    "",
    "   ",
    "UNWIND [1] AS x CREATE (n {v: x})",
    "MATCH (n) RETURN n LIMIT 1 DELETE n",
    "MATCH (n) FINISH",
    "MATCH (a), (b) CREATE (a)-[:X]->(b)",
    "MATCH (n) CALL apoc.util.sleep(1000) RETURN n",
    "MATCH (n) CALL dbms.killQuery('x') YIELD queryId RETURN n",
    "WITH 1 AS x CALL apoc.export.csv.all('f', {}) RETURN x",
    "MATCH (n) RETURN dbms.listConfig()",
    "MATCH (n) USING PERIODIC COMMIT RETURN n",
    "ALTER USER neo4j SET PASSWORD 'x'",
]


@pytest.mark.parametrize("query", READS)
def test_a_reading_query_passes(query):
    check_reading(query)


@pytest.mark.parametrize("query", NOT_READS)
def test_anything_else_is_refused_before_it_is_sent(query):
    with pytest.raises(SuiteError) as refused:
        check_reading(query, "job.yml:7")
    assert refused.value.kind == "cypher_not_reading"
    assert "job.yml:7" in str(refused.value)


def test_the_corpus_is_as_large_as_promised():
    assert len(NOT_READS) >= 60


def test_a_script_is_split_outside_strings_names_and_comments():
    script = "CREATE (a {t: 'x;y'}); // no; split\nCREATE (b:`c;d`);\n/* ; */ CREATE (e);;"
    assert split_script(script) == [
        "CREATE (a {t: 'x;y'})",
        "// no; split\nCREATE (b:`c;d`)",
        "/* ; */ CREATE (e)",
    ]
