// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile,split-k | filecheck %s
// RUN: pyptoc %s --pipeline='partition,infer-tiles,tile,split-k{factor=1}' | filecheck %s --check-prefix=ONE
// RUN: pyptoc %s --pipeline='partition,infer-tiles,tile,split-k{factor=4}' | filecheck %s --check-prefix=FOUR
// RUN: pyptoc %s --remarks --pipeline='partition,infer-tiles,tile,split-k{factor=3}' 2>&1 | filecheck %s --check-prefix=THREE

#split = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], split_k = 2>

// K = 200 is 4 steps of 64: part 0 takes [0, 128), part 1 takes [128, 200). The
// consumer adds the two parts where it read the result.
func.func @consumer(%a: tensor<?x200xf16>, %b: tensor<200x64xf16>) -> tensor<?x64xf32> {
  %y = pypto.matmul %a, %b {tile = #split}
  %e = pypto.exp %y
  func.return %e : tensor<?x64xf32>
}
// CHECK-LABEL: func.func @consumer
// CHECK: [[P0:%[0-9]+]] = pypto.empty[2, {{%[0-9]+}}, 64] : tensor<2x?x64xf32>
// CHECK: [[P:%y[_0-9]*]] = npu.tasks (%i, %j, %part) in ({{%[0-9]+}}, 1, 2) outs(%out = [[P0]] : tensor<2x?x64xf32>) on cube
// CHECK-DAG: [[LO:%[0-9]+]] = pypto.index min(128 * %part, 200)
// CHECK-DAG: [[HI:%[0-9]+]] = pypto.index min(128 * %part + 128, 200)
// CHECK: scf.for %k = [[LO]] to [[HI]]
// CHECK: npu.assemble {{.*}} into %out[%part,
// CHECK: npu.tasks {{.*}} on vector
// CHECK: [[V0:%[0-9]+]] = pypto.view [[P]][0,
// CHECK: [[V1:%[0-9]+]] = pypto.view [[P]][1,
// CHECK: [[V:%[0-9]+]] = pypto.add [[V0]], [[V1]]
// CHECK: pypto.exp [[V]]
// ONE-LABEL: func.func @consumer
// ONE-NOT: %part
// FOUR-LABEL: func.func @consumer
// FOUR: npu.tasks (%i, %j, %part) in ({{%[0-9]+}}, 1, 4)
// FOUR: [[T0:%[0-9]+]] = pypto.view %y{{[_0-9]*}}[0,
// FOUR: scf.for [[S:%[0-9]+]] = {{.*}} iter_args([[A:%[0-9]+]] = [[T0]])
// FOUR: [[T:%[0-9]+]] = pypto.view %y{{[_0-9]*}}[[[S]],
// FOUR: pypto.add [[A]], [[T]]

// 4 steps in 3 parts would be 2, 2 and none: two parts.
// THREE: remark[PTO327]: split over K in 2, not 3: K is 4 steps, and the longest part has 2 either way
// THREE-LABEL: func.func @consumer
// THREE: npu.tasks (%i, %j, %part) in ({{%[0-9]+}}, 1, 2)

// A result that leaves the function is added up by a task of its own.
func.func @returned(%a: tensor<16x128xi8>, %b: tensor<128x64xi8>) -> tensor<16x64xi32> {
  %y = pypto.matmul %a, %b {tile = #split}
  func.return %y : tensor<16x64xi32>
}
// CHECK-LABEL: func.func @returned
// CHECK: npu.tasks {{.*}} outs(%out = {{.*}} : tensor<2x16x64xi32>) on cube
// CHECK: [[R:%y[_0-9]*]] = npu.tasks {{.*}} on vector {tag = "split_k"}
// CHECK: pypto.add
// CHECK: func.return [[R]]

#atomic = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], split_k = 2 atomic>

// The parts are added where the result is, which holds zeros; no task adds them up.
// RUN: pyptoc %s --pipeline='partition,infer-tiles,tile,split-k{strategy=workspace}' | filecheck %s --check-prefix=WORK
// RUN: pyptoc %s --pipeline='partition,infer-tiles,tile,split-k{strategy=atomic}' | filecheck %s --check-prefix=ADD
func.func @atomic(%a: tensor<?x200xi8>, %b: tensor<200x64xi8>) -> tensor<?x64xi32> {
  %y = pypto.matmul %a, %b {tile = #atomic}
  func.return %y : tensor<?x64xi32>
}
// CHECK-LABEL: func.func @atomic
// CHECK: [[Z:%y[_0-9]*]] = npu.tasks {{.*}} on vector {tag = "split_k"}
// CHECK: pypto.full 0[
// CHECK: [[Y:%y[_0-9]*]] = npu.tasks ({{.*}}, %part) in ({{%[0-9]+}}, 1, 2) outs(%out{{[_0-9]*}} = [[Z]] : tensor<?x64xi32>) on cube
// CHECK: npu.assemble {{.*}} into %out{{[_0-9]*}}[{{%[0-9]+}}, 0] {combine = "add"}
// CHECK-NOT: npu.tasks
// CHECK: func.return [[Y]]
// WORK-NOT: combine
// ADD-LABEL: func.func @consumer
// ADD: pypto.full 0.0[
// ADD: npu.assemble {{.*}} {combine = "add"}
// ADD-LABEL: func.func @atomic
// ADD: npu.assemble {{.*}} {combine = "add"}

// What reads the product transposed reads the sum, which a copy makes.
func.func @transposed(%a: tensor<16x96xf16>, %b: tensor<96x80xf16>) -> tensor<80x16xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 16], k = [32, 32], n = [80, 80], split_k = 3>}
  %t = pypto.transpose %y perm [1, 0]
  %e = pypto.exp %t
  func.return %e : tensor<80x16xf32>
}
// CHECK-LABEL: func.func @transposed
// CHECK: on cube
// CHECK: on vector {tag = "split_k"}
// CHECK: on vector
// CHECK: [[V:%[0-9]+]] = pypto.view
// CHECK-NEXT: pypto.transpose [[V]]
