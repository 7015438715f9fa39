import { setupShared } from "../../support/setup.ts";
import { canRunSwift, startSwift } from "../../support/swift.ts";
import { describeUploads } from "./parts_uploads.ts";

if (canRunSwift) {
  const swift = await startSwift();
  const { endpoint, publicEndpoint, region, bucket, accessKey, secretKey } = await swift.bucket();
  const t = await setupShared({
    S3_ENDPOINT: endpoint,
    S3_PUBLIC_ENDPOINT: publicEndpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
  }, { inThisProcess: true });
  await describeUploads("Swift", t, { checksParts: false });
  Deno.test.afterAll(() => swift.stop());
} else {
  Deno.test({ name: "Swift: uploads by parts (ignored: not installed)", ignore: true, fn() {} });
}
