import com.google.android.rappor.Encoder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.SecureRandom;

/** RAPPOR as Android ships it, for an audit: one input a line in, the bits of one report a line out, both as JSON. */
public class RapporAudit {
  public static void main(String[] given) throws Exception {
    int bits = Integer.parseInt(given[1]), hashes = Integer.parseInt(given[5]);
    double f = Double.parseDouble(given[2]), p = Double.parseDouble(given[3]), q = Double.parseDouble(given[4]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    SecureRandom random = new SecureRandom();
    for (String line; (line = lines.readLine()) != null; ) {
      byte[] secret = new byte[Encoder.MIN_USER_SECRET_BYTES]; // of a new user: the permanent step follows from it
      random.nextBytes(secret);
      Encoder encoder = new Encoder(secret, "audit", bits, f, p, q, 1, hashes);
      byte[] report;
      switch (given[0]) {
        case "ordinal": report = encoder.encodeOrdinal(Integer.parseInt(line)); break;
        case "boolean": report = encoder.encodeBoolean(Boolean.parseBoolean(line)); break;
        default: report = encoder.encodeString(line.substring(1, line.length() - 1));
      }
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < bits; i++) sent.append(i == 0 ? "[" : ",").append(report[i / 8] >> i % 8 & 1);
      System.out.println(sent.append("]"));
    }
  }
}
