import java.sql.*;
import java.util.*;

public class Ask {
    static void rows(String title, ResultSet rows) throws SQLException {
        ResultSetMetaData facts = rows.getMetaData();
        while (rows.next()) {
            StringBuilder line = new StringBuilder(title);
            for (int k = 1; k <= facts.getColumnCount(); k++)
                line.append('|').append(facts.getColumnLabel(k)).append('=').append(rows.getString(k));
            System.out.println(line);
        }
    }

    public static void main(String[] given) throws Exception {
        Properties facts = new Properties();
        facts.setProperty("user", given[1]);
        facts.setProperty("password", given[2]);
        facts.setProperty("sslmode", "verify-full");
        facts.setProperty("sslrootcert", given[3]);
        facts.setProperty("options", "-c prdp.intervals=off");
        try (Connection connection = DriverManager.getConnection(given[0], facts)) {
            DatabaseMetaData known = connection.getMetaData();
            System.out.println("product|" + known.getDatabaseProductName() + " " + known.getDatabaseProductVersion());
            rows("schema", known.getSchemas());
            rows("catalog", known.getCatalogs());
            rows("table", known.getTables(null, null, "%", new String[] {"TABLE", "VIEW"}));
            rows("column", known.getColumns(null, "public", "visits", "%"));
            rows("key", known.getPrimaryKeys(null, "public", "visits"));
            rows("imported", known.getImportedKeys(null, "public", "visits"));
            rows("index", known.getIndexInfo(null, "public", "visits", false, true));
            rows("type", known.getTypeInfo());
            rows("procedure", known.getProcedures(null, null, "%"));
            rows("function", known.getFunctions(null, null, "%"));
            rows("privilege", known.getTablePrivileges(null, null, "%"));
            rows("tabletype", known.getTableTypes());
            connection.setReadOnly(true);
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET prdp.share = 0.01");
            }
            try (PreparedStatement statement = connection.prepareStatement(
                    "SELECT ward, COUNT(*) AS n, AVG(days) AS m FROM visits WHERE days > ? GROUP BY ward ORDER BY ward")) {
                for (int time = 0; time < 8; time++) {  // from the fifth on, prepared by name and in binary
                    statement.setInt(1, 40);
                    ResultSet rows = statement.executeQuery();
                    while (rows.next())
                        System.out.println("answer|" + rows.getString(1) + "|" + rows.getLong(2) + "|" + rows.getDouble(3));
                }
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(1);
                ResultSet rows = statement.executeQuery("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward");
                while (rows.next()) System.out.println("fetched|" + rows.getString(1));
            }
            connection.rollback();
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT COUNT(*) FROM visits WHERE dayz > 3");
            } catch (SQLException refused) {
                System.out.println("refused|" + refused.getSQLState() + "|" + refused.getMessage().replace('\n', ' '));
            }
        }
    }
}
